// Plotly's heatmaps report no click to Streamlit, but their own element does. The handler is looked up at each
// click, since the chart's element outlives a rerun and the data behind it does not.
export default function ({ data, setTriggerValue }) {
  const attach = () => {
    const chart = document.querySelector(`[class*="st-key-${data.container}"] .js-plotly-plot`);
    if (!chart?.on) return;
    const fresh = !chart.pickCell;
    chart.pickCell = ({ points: [point] }) => {
      const [query, key] = point.pointNumber;
      setTriggerValue("picked", { head: data.heads[point.curveNumber], query, key });
    };
    if (fresh) chart.on("plotly_click", (event) => chart.pickCell(event));
  };
  attach();
  const observer = new MutationObserver(attach);
  observer.observe(document.body, { childList: true, subtree: true });
  return () => observer.disconnect();
}

// As Streamlit does it itself: replaced rather than pushed, so that Back leaves the page, and told to the page around
// the app where there is one. Whatever else stands in the address stays.
export default function ({ data }) {
  const params = new URLSearchParams(window.location.search);
  for (const name of data.names) params.delete(name);
  for (const [name, value] of new URLSearchParams(data.query)) params.append(name, value);
  const search = params.size ? `?${params}` : "";
  if (search === window.location.search) return;
  window.history.replaceState(window.history.state, "", window.location.pathname + search);
  window.parent.postMessage({ stCommVersion: 1, type: "SET_QUERY_PARAM", queryParams: search }, "*");
}

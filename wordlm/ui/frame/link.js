// Copies the address of the view, and says what of it no link carries; see copy_link in link.py.
export default function ({ data, parentElement }) {
  const [button, said] = [parentElement.querySelector("button"), parentElement.querySelector("p")];
  said.textContent = "";
  button.onclick = async () => {
    let done = "Link copied.";
    try {
      await navigator.clipboard.writeText(window.location.href);
    } catch {
      done = "Copy the link from the address bar.";
    }
    said.textContent = [done, ...data.missing.map((what) => `It cannot carry ${what}.`)].join(" ");
  };
}

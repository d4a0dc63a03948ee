// Keeps the token of this tab's training where a reload and a new start of the server leave it: in the tab's session
// storage, so that it stands in no link. Follows wordlm/ui/state/run_marker.py; tests/browser/test_train_browser.py holds the
// two together.
const KEY = "attention-explorer-training";

export default function ({ data, setTriggerValue }) {
  try {
    if (data.token) return sessionStorage.setItem(KEY, data.token);
    const kept = sessionStorage.getItem(KEY);
    if (kept === null) return;
    if (kept === data.done) sessionStorage.removeItem(KEY);
    else setTriggerValue("found", kept);
  } catch {
    // A browser that stores nothing cannot find a training again; it is then as new as it says.
  }
}

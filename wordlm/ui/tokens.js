// A row of tokens that can be pressed; see token_row in components.py. Words are written as text, never as markup.
export default function ({ data, parentElement, setTriggerValue }) {
  const row = parentElement.querySelector(".tokens");
  row.dir = data.direction;
  const focused = [...row.children].indexOf(parentElement.activeElement ?? document.activeElement);
  row.replaceChildren(...data.tokens.map((token, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = `token ${token.sort}`;
    button.setAttribute("aria-pressed", i === data.chosen);
    button.title = token.hover;
    const word = document.createElement("b"), note = document.createElement("small");
    word.dir = "auto";
    note.dir = "ltr";
    word.textContent = token.typed;
    note.textContent = token.note;
    button.append(word, note);
    button.onclick = () => setTriggerValue("picked", i);
    return button;
  }));
  if (focused >= 0) row.children[focused]?.focus();
}

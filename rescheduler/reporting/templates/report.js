(() => {
  "use strict";
  const table = document.querySelector("table.moves");
  if (!table) return;
  const bodies = [...table.tBodies];
  const tools = document.querySelector(".tools");
  const field = tools.querySelector("input");
  const status = tools.querySelector("[role=status]");
  const text = (body, column) => body.rows[0].cells[column].textContent.trim();
  tools.hidden = false;
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const body of bodies) {
      const content = body.textContent.toLowerCase();
      body.hidden = !words.every((word) => content.includes(word));
      if (!body.hidden) shown += 1;
    }
    status.textContent = words.length ? `${shown} of ${bodies.length}` : "";
  });
  [...table.tHead.rows[0].cells].forEach((cell, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...cell.childNodes);
    cell.append(button);
    button.addEventListener("click", () => {
      const up = cell.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", up ? "ascending" : "descending");
      const order = new Intl.Collator("en", { numeric: true });
      const number = (body) => parseFloat(text(body, column).replace(/,/g, ""));
      const both = (a, b) => (cell.classList.contains("n") && number(a) - number(b)) || order.compare(text(a, column), text(b, column));
      bodies.sort((a, b) => (up ? both(a, b) : both(b, a)));
      table.append(...bodies);
    });
  });
})();

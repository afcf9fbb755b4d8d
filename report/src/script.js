const units = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, PiB: 2 ** 50, k: 1e3, M: 1e6, G: 1e9, ns: 1e-9, 'µs': 1e-6, ms: 1e-3 };
// Returns the number in a string such as "1,234", "< 0.1 %" or "1.5 MiB".
const number = text => {
  const found = /^([<>≥−+]?) ?([\d.,]+)(?: (\p{L}+))?/u.exec(text);
  if (!found) return -Infinity;
  const value = parseFloat(found[2].replaceAll(',', '')) * (units[found[3]] ?? 1);
  return { '<': value * 0.9, '>': value * 1.0001, '−': -value }[found[1]] ?? value;
};
const sort = (table, column, heading) => {
  const descends = heading.ariaSort !== 'descending' && heading.classList.contains('number') || heading.ariaSort === 'ascending';
  for (const other of heading.parentElement.children) other.ariaSort = null;
  heading.ariaSort = descends ? 'descending' : 'ascending';
  const text = row => row.cells[column].textContent.trim();
  const compare = heading.classList.contains('number')
    ? (a, b) => number(text(a)) - number(text(b))
    : (a, b) => text(a).localeCompare(text(b), 'en', { numeric: true });
  const body = table.tBodies[0];
  body.append(...Array.from(body.rows).sort((a, b) => descends ? compare(b, a) : compare(a, b)));
};
for (const table of document.querySelectorAll('table:not(.source)')) {
  if (!table.tHead || table.tBodies[0].rows.length < 2) continue;
  Array.from(table.tHead.rows[0].cells).forEach((heading, column) => {
    if (!heading.textContent) return;
    const button = document.createElement('button');
    button.title = 'Sort by this column';
    button.append(...heading.childNodes);
    button.addEventListener('click', () => sort(table, column, heading));
    heading.append(button);
  });
  if (table.tBodies[0].rows.length < 10) continue;
  const filter = document.createElement('input');
  Object.assign(filter, { type: 'search', className: 'filter', placeholder: 'Filter rows', ariaLabel: `Filter rows: ${table.caption.textContent}` });
  filter.addEventListener('input', () => {
    for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(filter.value.toLowerCase());
  });
  table.parentElement.before(filter);
}

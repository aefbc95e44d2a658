// The URL holds the view: which sweep or trial, and in its query what is shown of it.

export const about = {
  read_only: true
};  // what this page may do, filled in at the start
export const route = {
  open: () => {}
};  // shows what the URL names

export const query = () => new URLSearchParams(location.search);

export function setQuery(changes, push) {
  const q = query();
  for (const [name, value] of Object.entries(changes)) {
    if (value == null || value === "") q.delete(name);
    else q.set(name, value);
  }
  const url = location.pathname + (q.size ? "?" + q : "");
  if (url !== location.pathname + location.search)
    history[push ? "pushState" : "replaceState"](null, "", url);
}

export function go(url) {
  history.pushState(null, "", url);
  route.open(true);
}

// This is the script of the admin pages: it logs owners in and out, sends what they do, and fetches results regularly.
const SECONDS = 10;
const said = document.getElementById("said");
const say = (text) => { if (said) said.textContent = text; };

async function send(method, path, body) {
  const answer = await fetch(path, {
    method, credentials: "same-origin",
    headers: body === undefined ? {} : { "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (answer.ok) return true;
  const problem = await answer.json().catch(() => ({ title: "The collector does not answer." }));
  say([problem.title, problem.detail].filter(Boolean).join(" "));
  return false;
}

const login = document.getElementById("login");
if (login) {
  const value = (id) => document.getElementById(id).value;
  login.addEventListener("submit", async (event) => {
    event.preventDefault();
    say("");
    if (await send("POST", "/session", { name: value("name"), password: value("password") })) {
      location.assign("/");
      return;
    }
    const password = document.getElementById("password");
    password.value = "";
    password.focus();
  });
  // A one-time link has its secret in the fragment, which no server and no proxy sees.
  const link = location.hash.slice(1);
  if (link) {
    history.replaceState(null, "", "/login");
    if (await send("POST", "/session", { link })) location.assign("/");
  }
}

document.getElementById("logout")?.addEventListener("click", async () => {
  if (await send("DELETE", "/session")) location.assign("/login");
});

document.getElementById("everywhere")?.addEventListener("click", async () => {
  if (await send("DELETE", "/sessions")) location.assign("/login");
});

const change = document.getElementById("change");
change?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const field = (id) => document.getElementById(id);
  if (field("new").value !== field("again").value) {
    say("The new passwords differ.");
    return;
  }
  if (await send("POST", "/password", { old: field("old").value, new: field("new").value })) {
    change.reset();
    say("The password is changed. All other sessions have ended.");
  }
});

// The content security policy of these pages forbids forms to be sent, so the script opens the filtered page.
const filter = document.getElementById("filter");
filter?.addEventListener("submit", (event) => {
  event.preventDefault();
  location.assign(`/audit?${new URLSearchParams(new FormData(filter))}`);
});

const dashboard = document.getElementById("dashboard");
if (dashboard) {
  const { slug, query, n, state } = dashboard.dataset;
  for (const button of dashboard.querySelectorAll("button[data-act]")) {
    button.addEventListener("click", async () => {
      const act = button.dataset.act;
      if (act === "close" && !confirm("Close this survey? Nobody can answer it any more, and you cannot open it again. Devices can still send the reports that they have made already.")) return;
      if (act === "publish" && !confirm("Publish these results? Anyone who has the address can read and copy them.")) return;
      const name = act === "delete" ? prompt(`Delete all that is kept of this survey? Backups and exports still hold it. Type its name, ${slug}, to delete it.`) : undefined;
      if (name === null) return;
      const anyway = document.getElementById("anyway")?.value ?? "";
      const body = { open: { anyway }, close: { now: false }, delete: { name } }[act];
      if (!await send("POST", `/surveys/${slug}/${act}`, body)) return;
      if (act === "delete") location.assign("/");
      else location.reload();
    });
  }
  let tag = "";
  const look = async () => {
    const answer = await fetch(`/surveys/${slug}/results.json${query}`, { headers: tag ? { "if-none-match": tag } : {}, cache: "no-store" });
    if (answer.status === 401) location.assign("/login");
    if (answer.status !== 200) return;
    tag = answer.headers.get("etag") ?? "";
    const found = await answer.json();
    if (String(found.n) !== n || found.state !== state) location.reload();
  };
  setInterval(() => look().catch(() => say("The collector does not answer.")), 1000 * SECONDS);
}

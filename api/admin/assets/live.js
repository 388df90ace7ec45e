"use strict";
// Replaces every element that has data-live and an id by its newest form, every few seconds, as long as somebody looks at
// the page and is not busy inside of it. The server makes the markup; this script can write none. A page that the browser
// kept, and shows again when somebody goes back, is loaded anew: he may have signed out since.
(() => {
  const pause = 5000;
  let timer = 0;

  const busy = (part) =>
    part.contains(document.activeElement) || part.querySelector("details[open]") !== null ||
    (!document.getSelection().isCollapsed && part.contains(document.getSelection().anchorNode));

  const say = (text) => {
    const note = document.getElementById("live-note");
    if (note && note.textContent !== text) note.textContent = text;
  };

  const replace = (fresh) => {
    for (const part of document.querySelectorAll("[data-live][id]")) {
      const newer = fresh.getElementById(part.id);
      if (newer && !busy(part) && newer.outerHTML !== part.outerHTML) part.replaceWith(document.importNode(newer, true));
    }
  };

  const refresh = () => {
    if (document.hidden) return next();
    const request = new XMLHttpRequest();
    request.open("GET", location.href);
    request.responseType = "document";
    request.setRequestHeader("X-AANet-Refresh", "1");
    request.timeout = 10000;
    request.onload = () => {
      if (request.status === 401) return say("You are signed out. Load the page again to sign in.");
      if (request.status === 200 && request.response) {
        replace(request.response);
        say("");
      } else say("The numbers are not fresh: the service does not answer.");
      next();
    };
    request.onerror = request.ontimeout = () => {
      say("The numbers are not fresh: the service does not answer.");
      next();
    };
    request.send();
  };

  const next = () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, pause);
  };
  addEventListener("pagehide", (event) => { document.body.hidden = event.persisted; });
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  if (document.querySelector("main [data-live][id]") === null) return;
  document.addEventListener("visibilitychange", () => { if (!document.hidden && timer) refresh(); });
  next();
})();

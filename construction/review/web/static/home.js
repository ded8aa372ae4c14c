// The list: sends what an earlier page could not.
import { find } from "./flash.js";
import { Outbox } from "./outbox.js";

const outbox = new Outbox(
  () => outbox.acts().length || location.reload(),
  () => {},
);
outbox.flush();
find();
document.body.dataset.ready = "";

// The entry of the page of a run that is shown to the class.
import { wireReplay } from "./replay.js";

wireReplay();
document.querySelector("[data-replay]")?.setAttribute("open", "");

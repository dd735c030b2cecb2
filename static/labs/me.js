// The entry of a person's own page: times also by their own clock.
import { wireDue } from "./due.js";

wireDue();

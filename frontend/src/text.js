/** A sentence with its %(name)s places filled. */
export function fill(sentence, params) {
  return sentence.replace(/%\((\w+)\)s/g, (place, name) => String(params[name] ?? place));
}

/** An element with text or children; never markup. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

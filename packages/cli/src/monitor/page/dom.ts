type Child = Node | string | undefined | false;

interface Attributes {
  readonly [name: string]: string | number | boolean | undefined | ((event: never) => void);
}

/** Creates an element. A function is a listener (`onclick`), `true` an attribute without a value. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function')
      element.addEventListener(name.slice(2), value as unknown as (event: Event) => void);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child !== undefined && child !== false));
  return element;
}

/** Replaces what an element contains. What has the focus there keeps it, by its `data-key`. */
export function replace(parent: Element, ...children: readonly Child[]): void {
  const focused = parent.contains(document.activeElement) ? document.activeElement : undefined;
  const key = focused?.getAttribute('data-key');
  parent.replaceChildren(...children.filter((child) => child !== undefined && child !== false));
  if (key) parent.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`)?.focus();
}

/** Parts of the page that a person can open. They stay open when they are drawn again. */
export class Foldings {
  readonly #open = new Set<string>();

  details(key: string, summary: Child, ...children: readonly Child[]): HTMLElement {
    const element = h(
      'details',
      { open: this.#open.has(key) },
      h('summary', { 'data-key': key }, summary),
      ...children,
    );
    element.addEventListener('toggle', () => {
      if (element.open) this.#open.add(key);
      else this.#open.delete(key);
    });
    return element;
  }
}

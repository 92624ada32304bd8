const textOf = (node) => node.value ?? (node.children ?? []).map(textOf).join('');

/**
 * Tells the style of a line of code how far it is indented, so that its continuation is, too, and which
 * spaces only align comments, so that a phone leaves them out.
 */
export const withIndents = {
  name: 'indents',
  line(node) {
    const text = textOf(node);
    const { length } = /^ */.exec(text)[0];
    if (length > 0) node.properties.style = `--indent: ${length}ch`;
    if (/\S {2}/.test(text)) for (const child of node.children.slice(length > 0 ? 1 : 0)) withGaps(child);
  },
};

/** Puts all but one of several spaces into an element of their own. */
function withGaps(node) {
  node.children = node.children.flatMap((child) => {
    if (child.type !== 'text') return child;
    const parts = child.value.split(/(?<= )( +)/).filter(Boolean);
    return parts.map((value) => {
      const text = { type: 'text', value };
      const isGap = parts.length > 1 && /^ +$/.test(value);
      return isGap
        ? { type: 'element', tagName: 'span', properties: { class: 'gap' }, children: [text] }
        : text;
    });
  });
}

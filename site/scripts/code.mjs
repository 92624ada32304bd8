const textOf = (node) => node.value ?? (node.children ?? []).map(textOf).join('');

/** Tells the style of a line of code how far it is indented, so that its continuation is, too. */
export const withIndents = {
  name: 'indents',
  line(node) {
    const [{ length }] = /^ */.exec(textOf(node));
    if (length > 0) node.properties.style = `--indent: ${length}ch`;
  },
};

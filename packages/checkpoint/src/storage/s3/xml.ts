const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/** The elements of a name in an answer of S3, which are never nested; what is in them. */
export function elementsIn(xml: string, name: string): string[] {
  return Array.from(xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs')), ([, content]) => content!);
}

/** The text of the first element of a name; undefined where there is none. */
export function contentOf(xml: string, name: string): string | undefined {
  const [first] = elementsIn(xml, name);
  return first?.replace(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (whole, decimal, hex, named) => {
    if (decimal) return String.fromCodePoint(Number(decimal));
    if (hex) return String.fromCodePoint(parseInt(hex as string, 16));
    return ENTITIES[named as string] ?? (whole as string);
  });
}

import { readFileSync } from 'node:fs';

const root = new URL('../../../../', import.meta.url);

/** The document that says which options config files do not take. */
export const CONFIG_README = readFileSync(new URL('packages/config/README.md', root), 'utf8');

/** The folder of a package, the title of a table's first column, and the path of the record that it describes. */
export type Table = readonly [folder: string, title: string, prefix: string];
/** The path of a record, a file below `packages`, and the interface of the record in it. */
export type Interface = readonly [prefix: string, file: string, name: string];

/** The defaults in the tables of the READMEs, by the name of the option. An option may be in several. */
export function defaultsInTables(tables: readonly Table[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const [name, title, prefix] of tables) {
    const readme = readFileSync(new URL(`packages/${name}/README.md`, root), 'utf8');
    for (const [option, text] of rowsOf(readme, title).flatMap((row) => entriesOf(row, prefix))) {
      found.set(option, [...(found.get(option) ?? []), text]);
    }
  }
  return found;
}

interface Row {
  readonly names: readonly string[];
  readonly fallback: string;
}

/** The rows of all tables whose first column has the title. */
function rowsOf(readme: string, title: string): Row[] {
  const tables = readme.split(/\n\n+/).filter((block) => block.startsWith('|'));
  return tables.flatMap((table) => {
    const [head, , ...lines] = table.split('\n').map(cellsOf);
    const column = head!.indexOf('default');
    if (head![0] !== title || column < 0) return [];
    return lines.map((cells) => ({
      names: [...cells[0]!.matchAll(/`([\w.]+)`/g)].map(([, name]) => name!),
      fallback: cells[column]!,
    }));
  });
}

const cellsOf = (line: string): string[] =>
  line
    .replaceAll('\\|', '¦')
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());

/** A row with several names has a default for all of them, or one for each. */
function entriesOf({ names, fallback }: Row, prefix: string): [string, string][] {
  const texts = fallback.split(', ');
  const record = names[0]!.slice(0, names[0]!.lastIndexOf('.') + 1);
  return names.map((name, i) => {
    const path = name.includes('.') ? name : record + name;
    return [prefix + path, plain(texts.length === names.length ? texts[i]! : fallback)];
  });
}

/** `300,000` as 300000, `'auto'` as auto, 25 MiB in bytes. */
function plain(text: string): string {
  const bare = text.replace(/[`']/g, '').replace(/(?<=\d),(?=\d{3})/g, '');
  return bare.replace(/(\d+) MiB/g, (_, mebibytes) => String(Number(mebibytes) * 1024 * 1024));
}

/** The words that the comments on the members of the interfaces say about defaults, by the name of the option. */
export function defaultsInComments(interfaces: readonly Interface[]): ReadonlyMap<string, readonly string[]> {
  return new Map(
    interfaces.flatMap(([prefix, file, name]) => {
      const source = readFileSync(new URL(`packages/${file}`, root), 'utf8');
      const [, body] = new RegExp(`export interface ${name}\\b[^{]*\\{\n(.*?)\n\\}`, 's').exec(source)!;
      const members = [...body!.matchAll(/(?:\/\*\*((?:(?!\*\/)[^])*)\*\/\s*)?readonly (\w+)\?:/g)];
      return members.map(([, comment = '', key]) => [prefix + key!, defaultWords(comment)] as const);
    }),
  );
}

/** `Default 5.`, `Default: the value of X, else 5.`, `true (default)`. */
function defaultWords(comment: string): string[] {
  const text = comment.replace(/\s*\n\s*\* ?/g, ' ').trim();
  const [, stated] = /\bDefault:? (.+?)\.?(?:(?<=\.)\s|$)/.exec(text) ?? /(\S+) \(default\)/.exec(text) ?? [];
  return stated === undefined
    ? []
    : plain(stated)
        .toLowerCase()
        .split(/[\s,:;()]+/);
}

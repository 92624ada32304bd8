import { facadeOf } from './facade.js';

/** What the hooks need to know, as plain data. */
export interface Facades {
  /** The export names of all modules of the script, by URL. */
  readonly names: Readonly<Record<string, readonly string[]>>;
  /** The URL of the module that exports `exportsOf`. */
  readonly loader: string;
}

interface Loaded {
  readonly format: string;
  readonly source: string;
  readonly shortCircuit: true;
}

/** A hook of Node.js that loads modules of the script in place of their files. */
export function facadesOf({ names, loader }: Facades) {
  return <Context, Next>(
    url: string,
    context: Context,
    next: (url: string, context: Context) => Next,
  ): Loaded | Next => {
    if (!Object.hasOwn(names, url)) return next(url, context);
    const source = facadeOf({
      head: `import { exportsOf } from ${JSON.stringify(loader)};\n`,
      object: `exportsOf(${JSON.stringify(url)})`,
      names: names[url]!,
      isCommonJs: false,
    });
    return { format: 'module', source, shortCircuit: true };
  };
}

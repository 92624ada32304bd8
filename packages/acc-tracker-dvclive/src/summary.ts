/** The last value of each metric, as `metrics.json` holds them. */
export type Latest = ReadonlyMap<string, number>;

/** Names and values, with trees below names. */
export type Tree = { [name: string]: number | string | Tree };

/**
 * The content of `metrics.json`. A metric `val/loss` is `loss` in `val`, unless there is a metric
 * `val`, too.
 */
export function summaryOf(latest: Latest, step: number): Tree {
  const summary = emptyTree();
  for (const [name, value] of latest) {
    const path = isBelowAnother(name, latest) ? [name] : name.split('/');
    let place = summary;
    for (const part of path.slice(0, -1)) place = (place[part] ??= emptyTree()) as Tree;
    place[path.at(-1)!] = Number.isFinite(value) ? value : pythonText(value);
  }
  return { ...summary, step };
}

/** Reads what {@link summaryOf} made. */
export function latestOf({ step: _, ...summary }: Tree): Map<string, number> {
  return new Map(leavesOf(summary, ''));
}

/** The text of a number in Python, whose NaN and infinities have other names. */
export function pythonText(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  return String(value).replace('Infinity', 'inf');
}

/** Without a prototype, in which a metric could have the name of a member. */
function emptyTree(): Tree {
  return Object.create(null) as Tree;
}

function isBelowAnother(name: string, latest: Latest): boolean {
  const parts = name.split('/');
  return parts.some((_, i) => i > 0 && latest.has(parts.slice(0, i).join('/')));
}

function leavesOf(tree: Tree, above: string): [string, number][] {
  return Object.entries(tree).flatMap(([key, value]) => {
    if (typeof value === 'object') return leavesOf(value, `${above}${key}/`);
    return [[above + key, typeof value === 'number' ? value : numberOf(value)]];
  });
}

function numberOf(text: string): number {
  return Number(text.replace('inf', 'Infinity'));
}

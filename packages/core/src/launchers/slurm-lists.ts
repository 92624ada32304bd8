/** Parses a Slurm node list: `gpu[01-03,7],login` is gpu01, gpu02, gpu03, gpu7, login. */
export function hostList(list: string): string[] {
  return splitOutside(list).flatMap(expand);
}

/** Parses Slurm's counts for each node: `2(x3),1` is 2, 2, 2, 1. */
export function perNode(counts: string): number[] {
  return counts.split(',').flatMap((part) => {
    const [, count, times = '1'] = /^(\d+)(?:\(x(\d+)\))?$/.exec(part) ?? [];
    return new Array<number>(Number(times)).fill(Number(count));
  });
}

/** Splits at commas outside brackets. */
function splitOutside(list: string): string[] {
  return list.split(/,(?![^[]*\])/).filter(Boolean);
}

/** Expands a name with any number of bracketed ranges. */
function expand(name: string): string[] {
  const [, before, ranges, after] = /^([^[]*)\[([^\]]*)\](.*)$/.exec(name) ?? [];
  if (ranges === undefined) return [name];
  const rests = expand(after!);
  return ranges
    .split(',')
    .flatMap(numbersOf)
    .flatMap((number) => rests.map((rest) => `${before}${number}${rest}`));
}

/** Expands a range: `08-10` is 08, 09, 10. */
function numbersOf(range: string): string[] {
  const [first, last = first] = range.split('-') as [string, string?];
  const count = Number(last) - Number(first) + 1;
  return Array.from({ length: count }, (_, i) => String(Number(first) + i).padStart(first.length, '0'));
}

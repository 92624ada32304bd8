type Graph = ReadonlyMap<string, readonly string[]>;

/** The files of each circle, sorted (Tarjan, "Depth-first search and linear graph algorithms", 1972). */
export function circlesOf(graph: Graph): string[][] {
  const numbers = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];
  /** Returns the lowest number of a file on the stack that `file` reaches. */
  const visit = (file: string): number => {
    const number = numbers.size;
    numbers.set(file, number);
    stack.push(file);
    let lowest = number;
    for (const used of graph.get(file)!) {
      if (!numbers.has(used)) lowest = Math.min(lowest, visit(used));
      else if (stack.includes(used)) lowest = Math.min(lowest, numbers.get(used)!);
    }
    if (lowest === number) {
      const members = stack.splice(stack.indexOf(file));
      if (members.length > 1 || graph.get(file)!.includes(file)) circles.push(members.sort());
    }
    return lowest;
  };
  for (const file of graph.keys()) if (!numbers.has(file)) visit(file);
  return circles;
}

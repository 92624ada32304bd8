import { observeCalls, Tensor, type OperatorArgument } from '@acc/native';

/** The calls of one operator with the same shapes, per step. */
export interface OperatorTime {
  readonly name: string;
  /**
   * The shapes of the tensors among the arguments: `[64,784] [784,128]`. Of a list only the length.
   */
  readonly shapes: string;
  readonly calls: number;
  readonly ms: number;
}

/** Times every operator call of `run`, which takes `steps` steps. */
export function timeOperators(run: () => void, steps: number): OperatorTime[] {
  const sums = new Map<string, { name: string; shapes: string; calls: number; ms: number }>();
  observeCalls((name, args, ms) => {
    const shapes = shapesOf(args);
    const key = `${name} ${shapes}`;
    const sum = sums.get(key);
    if (sum) {
      sum.calls++;
      sum.ms += ms;
    } else {
      sums.set(key, { name, shapes, calls: 1, ms });
    }
  });
  run();
  observeCalls(undefined);
  return [...sums.values()].map(({ name, shapes, calls, ms }) => ({
    ...{ name, shapes },
    calls: calls / steps,
    ms: ms / steps,
  }));
}

function shapesOf(args: readonly OperatorArgument[]): string {
  const shapes: string[] = [];
  for (const arg of args) {
    if (arg instanceof Tensor) shapes.push(`[${arg.shape.join()}]`);
    else if (Array.isArray(arg) && arg[0] instanceof Tensor) shapes.push(`${arg.length} tensors`);
  }
  return shapes.join(' ');
}

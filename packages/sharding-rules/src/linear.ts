// Sums over the rows of a shard may pass through linear kernels: the sum of the results of all
// shards is the result for the sum.
import { sum, type Rule } from './plan.js';
import type { ShardedCall } from './sharded-call.js';

const NOT_LINEAR = "applies a non-linear function to values computed over this rank's own rows";

/** Adds or concatenates inputs. A whole input is divided over the shards. */
const additive: Rule = (call) => {
  const scales = call.names.flatMap((name) => scaleOf(call, name) ?? []);
  const [scale] = scales as [number];
  const factors = new Map<string, number>();
  for (const name of call.names) {
    const own = scaleOf(call, name);
    const factor = own === undefined ? 1 / (call.shards * scale) : own / scale;
    if (factor !== 1) factors.set(name, factor);
  }
  return { results: sum(scale), factors };
};

/** Linear in one of `names` if all other inputs are whole. */
function linearIn(...names: string[]): Rule {
  return (call) => {
    const sums = call.names.filter((name) => call.isSum(name));
    if (sums.length !== 1 || !names.includes(sums[0]!)) return NOT_LINEAR;
    return { results: sum(scaleOf(call, sums[0]!)) };
  };
}

const toFloat: Rule = (call) => (call.attrs['dtype'] === 'float32' ? linearIn('x')(call) : NOT_LINEAR);
const paddedWithZeros: Rule = (call) =>
  call.attrs['constantValue'] === 0 ? linearIn('x')(call) : NOT_LINEAR;
/** The result depends on the shape only. */
const constant: Rule = () => ({ results: { kind: 'whole' } });

function scaleOf(call: ShardedCall, name: string): number | undefined {
  const state = call.inputs.get(name)!.state;
  return state.kind === 'sum' ? state.scale : undefined;
}

const named = (names: readonly string[], rule: Rule) => names.map((name): [string, Rule] => [name, rule]);

/** Rules by kernel, for calls whose inputs are sums over rows or whole. */
export const LINEAR_RULES: ReadonlyMap<string, Rule> = new Map([
  ...named(['Add', 'AddN', 'Sub', 'Concat', 'Pack'], additive),
  ...named(
    ['Neg', 'Sum', 'Mean', 'Cumsum', 'Transpose', 'Slice', 'SplitV', 'Tile', 'Reverse'],
    linearIn('x'),
  ),
  ...named(['AccCast', 'GatherV2', 'UnsortedSegmentSum'], linearIn('x')),
  ...named(['Multiply', 'BatchMatMul'], linearIn('a', 'b')),
  ...named(['Einsum'], linearIn('0', '1')),
  ...named(['RealDiv'], linearIn('a')),
  ...named(['Unpack'], linearIn('value')),
  ...named(['Select'], linearIn('t', 'e')),
  ...named(
    [
      'ReluGrad',
      'Relu6Grad',
      'ClipByValueGrad',
      'LeakyReluGrad',
      'SoftplusGrad',
      'SigmoidGrad',
      'TanhGrad',
      'PowGrad',
      'SoftmaxGrad',
    ],
    linearIn('dy'),
  ),
  ...named(['EluGrad', 'AccDropoutGrad'], linearIn('dy')),
  ['Cast', toFloat],
  ['PadV2', paddedWithZeros],
  ...named(['ZerosLike', 'OnesLike'], constant),
]);

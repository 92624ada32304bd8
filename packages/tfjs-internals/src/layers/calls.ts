import type { GraphLayer, LayerGraph, SymbolicTensor } from './graph.js';

/** One call of a layer. */
export interface GraphCall {
  readonly layer: GraphLayer;
  /** The ids of its inputs and outputs. */
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
}

/**
 * The layer calls of a model in the order in which tfjs-layers makes them. Each call follows the
 * calls that it depends on.
 */
export function callsOf({ inputs, outputs }: LayerGraph): GraphCall[] {
  const fed = new Set(inputs.map(({ name }) => name));
  const done = new Set<string>();
  return outputs.flatMap((output) => {
    const sorted = sortedTo(output, fed).filter(({ name }) => !done.has(name));
    for (const { name } of sorted) done.add(name);
    return sorted.map(callOf);
  });
}

/** Sorts depth first, starting with the last input, like the stack of tfjs-layers. */
function sortedTo(output: SymbolicTensor, fed: ReadonlySet<string>): SymbolicTensor[] {
  const sorted: SymbolicTensor[] = [];
  const visited = new Set(fed);
  const visit = (symbolic: SymbolicTensor): void => {
    if (visited.has(symbolic.name)) return;
    for (const input of symbolic.inputs.toReversed()) visit(input);
    visited.add(symbolic.name);
    sorted.push(symbolic);
  };
  visit(output);
  return sorted;
}

function callOf({ id, inputs, sourceLayer }: SymbolicTensor): GraphCall {
  const node = sourceLayer.inboundNodes.find(({ outputTensors }) =>
    outputTensors.some((output) => output.id === id),
  )!;
  return {
    layer: sourceLayer,
    inputs: inputs.map((input) => input.id),
    outputs: node.outputTensors.map((output) => output.id),
  };
}

import { clone, keep, type Tensor } from '@tensorflow/tfjs-core';
import { together, writeModel, type WriteModelOptions } from '@acc/checkpoint';
import { AccError, type Collective, type KernelLayer } from '@acc/contract';
import { mapLeaves, mapNested, type Nested } from '@acc/tape';

/** Writes tensors of rank 0 by their paths, as `encoder.weights[0]`. Every rank calls it. */
export async function saveTensors(
  values: Nested,
  path: string,
  options: Omit<WriteModelOptions, 'format' | 'quantization'>,
  { collective, kernels }: { readonly collective: Collective; readonly kernels: KernelLayer },
): Promise<void> {
  await together(collective, async () => {
    const kept = namedClones(values);
    try {
      if (collective.rank > 0) return;
      const weights = kept.map(({ name, tensor }) => {
        const { shape } = tensor;
        const dtype = kernels.state.dtypeOf(tensor);
        return { name, dtype, shape, open: async () => await kernels.state.bytesOf(tensor) };
      });
      await writeModel(path, { topology: undefined, weights }, options, kernels.state);
    } finally {
      for (const { tensor } of kept) tensor.dispose();
    }
  });
}

/** @throws AccError `ACC_NOT_A_TENSOR`; `ACC_INVALID_ARGUMENT` if two tensors have the same path. */
function namedClones(values: Nested): { name: string; tensor: Tensor }[] {
  const tensors: Tensor[] = [];
  mapNested(values, (x) => (tensors.push(x), x));
  const names: string[] = [];
  mapLeaves(tensors.length > 0 ? values : [], isTensor, (_, where) => names.push(where || 'values'));
  const repeated = names.find((name, i) => names.indexOf(name) < i);
  if (repeated !== undefined) throw samePath(repeated);
  return tensors.map((x, i) => ({ name: names[i]!, tensor: keep(clone(x)) }));
}

const isTensor = (value: unknown) => typeof (value as Partial<Tensor> | null)?.dataSync === 'function';

function samePath(path: string): AccError {
  return new AccError('ACC_INVALID_ARGUMENT', `save: two tensors would be named '${path}'.`, {
    help: 'Use keys without dots and brackets, which paths contain.',
    details: { path },
  });
}

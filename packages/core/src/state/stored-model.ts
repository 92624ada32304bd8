import type { Checkpoint, StoredReference } from '@acc/checkpoint';
import { PARAMETERS, slotFolder, type ModelState } from './model-state.js';
import { union } from './named-tensors.js';

/**
 * Version 1 listed the tensors that ranks held. Several whole tensors in one flat variable have one
 * entry there.
 */
interface ModelOfVersion1 {
  readonly parameters: readonly { readonly name: string; readonly value: StoredReference }[];
  readonly optimizers: readonly {
    readonly kind: string;
    readonly slots?: Readonly<Record<string, readonly { readonly value: StoredReference }[]>>;
  }[];
}

/** The model of a checkpoint, and the names of its variables. */
export interface StoredModel {
  readonly model: ModelState<StoredReference>;
  /**
   * The variables of version 1, whose windows refer to positions in this list. Undefined for later
   * versions.
   */
  readonly variables: readonly string[] | undefined;
}

/** @param root The prefix of the names of the model's tensors. */
export function storedModel(tree: unknown, checkpoint: Checkpoint, root: string): StoredModel {
  if (checkpoint.index.version > 1) {
    return { model: tree as ModelState<StoredReference>, variables: undefined };
  }
  const { parameters, optimizers } = tree as ModelOfVersion1;
  return {
    model: {
      parameters: namesIn(checkpoint, root + PARAMETERS, parameters),
      optimizers: optimizers.map(({ slots, ...entry }, i) => ({
        ...entry,
        ...(slots && {
          slots: Object.fromEntries(
            Object.entries(slots).map(([kind, list]) => [
              kind,
              namesIn(checkpoint, slotFolder(root, i, kind), list),
            ]),
          ),
        }),
      })),
    },
    variables: parameters.map(({ name }) => name),
  };
}

/**
 * Names of whole tensors below a folder. Those of the entries come first, in their order, and the
 * others follow.
 */
function namesIn(
  { index }: Checkpoint,
  folder: string,
  entries: readonly { readonly value: StoredReference }[],
): string[] {
  const { tensors } = index;
  const listed = entries.map(({ value }) => value.name).filter((name) => Object.hasOwn(tensors, name));
  const others = Object.keys(tensors).filter((name) => name.startsWith(`${folder}/`));
  return union([listed, others]).map((name) => name.slice(folder.length + 1));
}

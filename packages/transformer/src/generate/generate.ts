import {
  argMax,
  cast,
  concat,
  max,
  reshape,
  slice,
  tensor2d,
  tidy,
  zeros,
  type Tensor,
  type Tensor2D,
} from '@tensorflow/tfjs-core';
import type { LayersModel } from '@tensorflow/tfjs-layers';
import { AccError, parseOptions, valuesOf } from '@acc/contract';
import { onFullSequences } from '@acc/kernels';
import { isModel } from '@acc/tfjs-internals';
import { KeyValueCache } from '../layers/key-value-cache.js';
import { promptOf } from './prompt.js';
import { generateSchema, isGreedy, type GenerateOptions, type GenerateSettings } from './options.js';
import { requireCacheable, requireVocabulary, requireRoom } from './requirements.js';
import { drawToken, notFinite, randomOf, type Random } from './sampling.js';
import type { Ready } from './agreement.js';
import { beginTogether, type Begun } from './together.js';

/**
 * Lets a model continue prompts, token by token. Without options that draw, it takes the most probable
 * token each time.
 *
 * Where ranks have parts of the weights of a prepared model, all of them call it. Ranks that differ
 * only in the mesh axes `tensor` and `pipeline` give the same prompts and options, and take the tokens
 * of the first of them. Ranks that differ in `fsdp` or `expert` may have prompts and options of their
 * own: passes go on until all have ended. Without a seed all these ranks draw with the same one. What
 * one rank refuses, none begins.
 *
 * On other axes each rank computes for itself. So on a context axis each has the whole prompts, and all
 * get the same tokens for the same prompts and, if they draw, seed.
 *
 * @param model Gives logits `[batch, length, vocabulary]` for tokens `[batch, length]`: `gpt2`, `llama`,
 * or a model of one's own. With `useCache`, causal attention layers of this package are what mixes
 * positions in it.
 * @param tokens The prompts, int32 `[batch, length]` or `[length]`, or numbers. They are of one length.
 * @returns Prompts and new tokens, int32 `[batch, length + new]`. The caller disposes it.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_INVALID_ARGUMENT`,
 * `ACC_SHAPE_MISMATCH`; `ACC_CACHE_UNSUPPORTED` if the model cannot use the cache;
 * `ACC_SEQUENCE_TOO_LONG` for more positions than the model knows; `ACC_GENERATION_NOT_FINITE` if its
 * logits give no probabilities. Of ranks that have parts of the weights, on each: `ACC_BATCHES_DIFFER`,
 * `ACC_OPTIONS_DIFFER` if prompts or options differ where they must not; `ACC_GENERATION_REFUSED` if
 * another rank refuses its own.
 */
export function generate(
  model: LayersModel,
  tokens: Tensor | readonly number[] | readonly (readonly number[])[],
  options: GenerateOptions,
): Tensor2D {
  if (!isModel(model)) {
    throw new AccError('ACC_INVALID_ARGUMENT', 'generate expects a tf.LayersModel.', {
      help: 'Write generate(model, tokens, { maxNewTokens }).',
    });
  }
  const prepare = (): Ready => {
    const settings = parseOptions('generate', generateSchema, options);
    if (settings.useCache) requireCacheable(model);
    const prompt = promptOf(tokens);
    requireVocabulary(model, prompt, settings.eosToken);
    requireRoom(model, prompt.shape[1] + settings.maxNewTokens - 1);
    return { prompt, settings };
  };
  return tidy(() => onFullSequences(() => continued(model, beginTogether(model, prepare))));
}

function continued(model: LayersModel, { prompt, settings, together }: Begun): Tensor2D {
  const [batch] = prompt.shape;
  const { seed = together.seed, eosToken, maxNewTokens } = settings;
  const rows = Array.from({ length: batch }, (_, row) => new Row(randomOf(seed, row), eosToken));
  const cache = settings.useCache ? new KeyValueCache() : undefined;
  const added: (readonly number[])[] = [];
  const isOpen = () => added.length < maxNewTokens && !rows.every(({ hasEnded }) => hasEnded);
  try {
    let seen = prompt;
    while (together.goesOn(isOpen())) {
      if (!isOpen()) {
        passBesideOthers(model);
        continue;
      }
      const own = tidy(() => nextTokens(logitsOf(model, seen, cache), rows, settings));
      const next = together.agreedTokens(own);
      rows.forEach((row, i) => row.take(next[i]!));
      added.push(next);
      const column = tensor2d([...next], [batch, 1], 'int32');
      const following = cache ? column : concat([seen, column], 1);
      if (following !== column) column.dispose();
      if (seen !== prompt) seen.dispose();
      seen = following;
    }
  } finally {
    cache?.dispose();
    together.end();
  }
  if (added.length === 0) return prompt.clone();
  const columns = added.map((values) => tensor2d([...values], [batch, 1], 'int32'));
  return concat([prompt, ...columns], 1);
}

/** Takes part in a forward pass that only other ranks need. It computes one position. */
function passBesideOthers(model: LayersModel): void {
  valuesOf(tidy(() => logitsOf(model, zeros([1, 1], 'int32'), undefined)));
}

/** The logits of the next token, `[batch, vocabulary]`. */
function logitsOf(model: LayersModel, tokens: Tensor2D, cache: KeyValueCache | undefined): Tensor2D {
  const [batch, length] = tokens.shape;
  const logits = model.apply(tokens, { training: false, ...(cache && { cache }) }) as Tensor;
  cache?.advance(length);
  if (logits.rank !== 3 || logits.shape[1] !== length) throw notLogits(logits);
  return reshape(slice(logits, [0, length - 1, 0], [batch, 1, -1]), [batch, logits.shape[2]!]);
}

function nextTokens(logits: Tensor2D, rows: readonly Row[], settings: GenerateSettings): number[] {
  if (isGreedy(settings)) {
    const [best, most] = [argMax(logits, -1).dataSync(), max(logits, -1).dataSync()];
    const bestOf = (i: number) => {
      if (!Number.isFinite(most[i]!)) throw notFinite();
      return best[i]!;
    };
    return rows.map((row, i) => row.choose(() => bestOf(i)));
  }
  const values = cast(logits, 'float32').dataSync<'float32'>();
  const width = logits.shape[1];
  return rows.map((row, i) =>
    row.choose((random) => drawToken(values.subarray(i * width, (i + 1) * width), settings, random)),
  );
}

/** One prompt of the batch. */
class Row {
  hasEnded = false;
  readonly #random: Random;
  readonly #end: number | undefined;

  constructor(random: Random, eosToken: number | undefined) {
    this.#random = random;
    this.#end = eosToken;
  }

  choose(draw: (random: Random) => number): number {
    return this.hasEnded ? this.#end! : draw(this.#random);
  }

  take(token: number): void {
    this.hasEnded = token === this.#end;
  }
}

function notLogits({ shape }: Tensor): AccError {
  return new AccError(
    'ACC_SHAPE_MISMATCH',
    `generate: the model gave [${shape.join(', ')}]; expected logits [batch, length, vocabulary].`,
    { help: 'Give a model whose output has logits for each position.', details: { shape } },
  );
}

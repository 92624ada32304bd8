import { cast, reshape, Tensor, tensor2d, type Tensor2D } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';

/**
 * Prompts as int32 `[batch, length]`. Caller disposes.
 *
 * @throws AccError `ACC_SHAPE_MISMATCH`, `ACC_INVALID_ARGUMENT`.
 */
export function promptOf(tokens: Tensor | readonly number[] | readonly (readonly number[])[]): Tensor2D {
  if (tokens instanceof Tensor) {
    const { rank, shape, size } = tokens;
    if ((rank !== 1 && rank !== 2) || size === 0) throw mismatch(`[${shape.join(', ')}]`);
    if (!['int32', 'float32'].includes(tokens.dtype)) throw noToken(`the dtype ${tokens.dtype}`);
    if (tokens.dtype === 'float32') requireTokens(tokens.dataSync());
    return cast(rank === 1 ? reshape(tokens, [1, size]) : tokens, 'int32') as Tensor2D;
  }
  const rows = (Array.isArray(tokens[0]) ? tokens : [tokens]) as readonly (readonly number[])[];
  const lengths = [...new Set(rows.map(({ length }) => length))];
  if (lengths.length !== 1 || lengths[0] === 0) throw mismatch(`rows of ${lengths.join(', ')} tokens`);
  requireTokens(rows.flat());
  return tensor2d(rows.flat(), [rows.length, lengths[0]!], 'int32');
}

function requireTokens(values: ArrayLike<number>): void {
  const wrong = Array.from(values).find((token) => !Number.isInteger(token) || token < 0);
  if (wrong !== undefined) throw noToken(String(wrong));
}

function noToken(value: string): AccError {
  return new AccError('ACC_INVALID_ARGUMENT', `generate: ${value} is not a token.`, {
    help: 'Tokens are whole numbers from 0.',
  });
}

function mismatch(value: string): AccError {
  return new AccError(
    'ACC_SHAPE_MISMATCH',
    `generate: the prompts are ${value}; expected [batch, length] or [length] with at least one token.`,
    { help: 'Generate from prompts of different lengths in several calls.' },
  );
}

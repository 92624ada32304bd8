import { AccError, showValue } from '@acc/contract';

/** @throws AccError `ACC_INVALID_OPTION` unless `count` is an integer from 0. */
export function requireCount(where: string, count: number): void {
  if (Number.isSafeInteger(count) && count >= 0) return;
  throw new AccError('ACC_INVALID_OPTION', `${where}(${showValue(count)}): expected an integer from 0.`, {
    help: 'Pass the number as a whole number.',
    details: { path: [where], count },
  });
}

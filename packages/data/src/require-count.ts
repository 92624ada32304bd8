import { AccError } from '@acc/contract';

/** @throws AccError `ACC_INVALID_OPTION` for what is no integer from 0. */
export function requireCount(where: string, count: number): void {
  if (Number.isSafeInteger(count) && count >= 0) return;
  throw new AccError('ACC_INVALID_OPTION', `${where}(${count}): it takes an integer from 0.`, {
    details: { path: [where], count },
  });
}

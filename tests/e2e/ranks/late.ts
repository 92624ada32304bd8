// Rank 1 does not make a collective call (argument `collective`), or does not join the job
// (`join`).
import { Accelerator } from '@acc/core';
import { reportResult } from '@acc/testkit';

const where = process.argv[2];
const isLate = process.env['RANK'] === '1';
try {
  if (isLate && where === 'join') throw Object.assign(new Error('stays away'), { code: 'away' });
  // Ranks that join may start seconds after each other.
  const limits = where === 'join' ? { joinTimeoutMs: 1500 } : { timeoutMs: 5000, joinTimeoutMs: 60_000 };
  const accelerator = await Accelerator.create({ collective: limits });
  if (isLate) await new Promise((resolve) => setTimeout(resolve, 9000));
  accelerator.waitForEveryone();
  reportResult('met');
} catch (error) {
  reportResult((error as { code: string }).code);
}

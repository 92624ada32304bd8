// Rank 1 does not make a collective call (argument `collective`), or does not join the job
// (`join`).
import { Accelerator } from '@acc/core';
import { reportResult } from '@acc/testkit';

const where = process.argv[2];
const isLate = process.env['RANK'] === '1';
try {
  if (isLate && where === 'join') throw Object.assign(new Error('stays away'), { code: 'away' });
  const accelerator = await Accelerator.create({ collective: { timeoutMs: 1500 } });
  if (isLate) await new Promise((resolve) => setTimeout(resolve, 6000));
  accelerator.waitForEveryone();
  reportResult('met');
} catch (error) {
  reportResult((error as { code: string }).code);
}

import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Proves knowledge of the job's token without sending it. Each side answers the nonce of the other,
 * and the role keeps an answer from being sent back.
 */
export function proofOf(token: string, role: 'agent' | 'coordinator', nonce: string): string {
  return createHmac('sha256', `acc ${token}`).update(`${role} ${nonce}`).digest('hex');
}

export function isProof(given: unknown, expected: string): boolean {
  return (
    typeof given === 'string' &&
    given.length === expected.length &&
    timingSafeEqual(Buffer.from(given), Buffer.from(expected))
  );
}

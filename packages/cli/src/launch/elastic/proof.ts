import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Proves knowledge of the job's token without sending it. Each side answers the nonce of the other,
 * and the role keeps an answer from being sent back.
 */
export function proofOf(token: string, role: 'agent' | 'coordinator', nonce: string): string {
  return createHmac('sha256', `acc ${token}`).update(`${role} ${nonce}`).digest('hex');
}

export function isProof(value: unknown, expected: string): boolean {
  return (
    typeof value === 'string' &&
    value.length === expected.length &&
    timingSafeEqual(Buffer.from(value), Buffer.from(expected))
  );
}

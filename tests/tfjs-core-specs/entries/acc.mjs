import { registerAccBackend } from '@acc/kernels';
import { activate } from './activate.mjs';

/** Registers the backend `acc` on `device` and defines the specs. */
export async function defineSpecs({ device }) {
  await registerAccBackend({ device });
  await activate('acc');
}

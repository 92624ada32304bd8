import { registerAccBackend } from '@acc/kernels';
import { setDefaultDevice } from '@acc/native';
import { installGradientDriver } from '../../../packages/core/src/gradient-driver/driver.ts';
import { activate } from './activate.mjs';

/** Registers the backend `acc` on `device`, puts our gradient driver in place of tfjs's, and defines the specs. */
export async function defineSpecs({ device }) {
  // tfjs would keep the reason to itself, where the device is not there.
  setDefaultDevice(device);
  registerAccBackend({ device });
  installGradientDriver({ begin: () => undefined });
  await activate('acc');
}

import { registerAccBackend } from '@acc/kernels';
import { setDefaultDevice, setFloat32Precision } from '@acc/native';
import { installGradientDriver } from '../../../packages/tape/src/gradient-driver/driver.ts';
import { loadLateDevice } from '../../device/late-device.ts';
import { activate } from './activate.mjs';

/**
 * Registers the backend `acc` on `device`, replaces tfjs's gradient driver by ours, and defines the
 * specs.
 */
export async function defineSpecs({ device }) {
  if (device === 'late') loadLateDevice();
  // Without this call, tfjs would hide the reason why a device is not available.
  setDefaultDevice(device);
  // By default, cuDNN rounds the factors of convolutions, and the specs compare more closely.
  if (device !== 'cpu') setFloat32Precision('cuda', 'ieee');
  registerAccBackend({ device });
  installGradientDriver({ begin: () => undefined });
  await activate('acc');
}

// Runs before each test file. Code that registers the backend later without a device then uses this
// one.
import { registerAccBackend } from '@acc/kernels';
import { setDefaultDevice, setFloat32Precision } from '@acc/native';

setDefaultDevice('cuda:0');
registerAccBackend({ device: 'cuda:0' });
// The tests compare with the CPU at 1e-5, and by default cuDNN rounds the factors of convolutions.
setFloat32Precision('cuda', 'ieee');

// Runs before each test file. Code that registers the backend later without a device then uses this
// one.
import { registerAccBackend } from '@acc/kernels';
import { setDefaultDevice } from '@acc/native';

setDefaultDevice('cuda:0');
registerAccBackend({ device: 'cuda:0' });

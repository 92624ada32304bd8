// Runs before each test file: what registers the backend afterwards without naming a device takes this one.
import { registerAccBackend } from '@acc/kernels';
import { setDefaultDevice } from '@acc/native';

setDefaultDevice('cuda:0');
registerAccBackend({ device: 'cuda:0' });

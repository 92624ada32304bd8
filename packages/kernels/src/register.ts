import { registerOptimizers } from './optimizers/index.js';
import { registerAccBackend } from './register-backend.js';

registerAccBackend();
registerOptimizers();

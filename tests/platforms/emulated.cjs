// Loaded before every program in an emulator: the kernel cannot start the Node.js of another processor,
// but a script that starts the emulator.
process.execPath = process.env.EMULATED_NODE;

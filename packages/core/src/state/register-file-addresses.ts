import { registerFileAddresses } from '#platform/file-addresses';

registerFileAddresses();

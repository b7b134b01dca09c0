/** Puts grpcio, gRPC's C++ core for Python, into .cache/grpcio/. */
import { installPythonPackage } from './python-package.mjs';
import { installIfMain } from './fetch/tool.mjs';

export function installGrpcio() {
  return installPythonPackage({ name: 'grpcio', version: '1.85.1' });
}

await installIfMain(import.meta.url, installGrpcio);

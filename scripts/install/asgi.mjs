/** Puts what the Python example runs on into .cache/asgi/: grpcio-tools, which makes its stubs, and uvicorn, which serves it. */
import { installPythonPackage } from './python-package.mjs';
import { installIfMain } from './fetch/tool.mjs';

export function installAsgi() {
  return installPythonPackage({ name: 'grpcio-tools', version: '1.85.1', dependencies: ['uvicorn==0.54.0'], folder: 'asgi' });
}

await installIfMain(import.meta.url, installAsgi);

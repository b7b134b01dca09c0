/** Puts openapi-python-client, which generates Python clients from an OpenAPI document, into .cache/openapi-python-client/. */
import { installPythonPackage } from './python-package.mjs';
import { installIfMain } from './fetch/tool.mjs';

/** What generates the client, and what the client itself needs. */
const DEPENDENCIES = ['attrs==26.1.0', 'httpx==0.28.1', 'jinja2==3.1.6', 'pydantic==2.14.3', 'ruamel-yaml==0.19.1', 'typer==0.27.3'];

export function installOpenApiPythonClient() {
  return installPythonPackage({ name: 'openapi-python-client', version: '0.29.1', dependencies: DEPENDENCIES });
}

await installIfMain(import.meta.url, installOpenApiPythonClient);

/** The pages and the source that are generated from tables in the code, by their paths in the repository. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ADMIN_ROUTES } from '../../../src/administration/admin/routes/routes';
import { renderJsonSchema } from '../../../src/configuration/compile/schema/json-schema';
import { PACKAGE_ROOT } from '../../../src/lib/package-root';
import { renderTestSchema } from '../../../src/program/cli/test/file/test-schema';
import { VERSION } from '../../../src/program/app/context/version';
import { renderAdminDoc } from './admin-doc';
import { renderOperations } from './client-operations';
import { renderConfigurationDoc } from './configuration-doc';
import { renderHttpOpenApi } from './http-openapi';
import { renderMetricsDoc } from './metrics-doc';
import { renderSettingsDoc } from './settings-doc';

const ADMIN_PAGE = path.join('docs', 'admin-api.md');

export function generatedFiles(): Readonly<Record<string, string>> {
  return {
    [ADMIN_PAGE]: renderAdminDoc(readFileSync(path.join(PACKAGE_ROOT, ADMIN_PAGE), 'utf8')),
    'docs/settings.md': renderSettingsDoc(),
    'docs/metrics.md': renderMetricsDoc(),
    'docs/configuration.md': renderConfigurationDoc(),
    'docs/generated/weir.schema.json': renderJsonSchema(),
    'docs/generated/weir-test.schema.json': renderTestSchema(),
    'docs/generated/openapi.json': renderHttpOpenApi(VERSION),
    'src/administration/admin-client/operations.ts': renderOperations(ADMIN_ROUTES),
  };
}

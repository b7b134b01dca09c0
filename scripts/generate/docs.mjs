/** Writes the pages and the source that are generated from tables in the code. It needs a build, because it runs dist/. */
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** @type {(path: string) => unknown} */
const load = createRequire(import.meta.url);
const { renderSettingsDoc } = /** @type {typeof import('../../src/configuration/settings/table/settings-doc.js')} */ (
  load('../../dist/configuration/settings/table/settings-doc.js')
);
const { renderMetricsDoc } = /** @type {typeof import('../../src/server/observability/metrics-doc.js')} */ (
  load('../../dist/server/observability/metrics-doc.js')
);

const { renderConfigurationDoc } = /** @type {typeof import('../../src/configuration/compile/schema/configuration-doc.js')} */ (
  load('../../dist/configuration/compile/schema/configuration-doc.js')
);
const { renderJsonSchema } = /** @type {typeof import('../../src/configuration/compile/schema/json-schema.js')} */ (
  load('../../dist/configuration/compile/schema/json-schema.js')
);

const { renderAdminDoc } = /** @type {typeof import('../../src/administration/admin/server/admin-doc.js')} */ (
  load('../../dist/administration/admin/server/admin-doc.js')
);
const { renderOperations } = /** @type {typeof import('../../src/administration/admin/server/client-operations.js')} */ (
  load('../../dist/administration/admin/server/client-operations.js')
);
const { ADMIN_ROUTES } = /** @type {typeof import('../../src/administration/admin/routes/routes.js')} */ (
  load('../../dist/administration/admin/routes/routes.js')
);

const { renderHttpOpenApi } = /** @type {typeof import('../../src/server/transport/http/openapi/http-openapi.js')} */ (
  load('../../dist/server/transport/http/openapi/http-openapi.js')
);
const { VERSION } = /** @type {typeof import('../../src/program/app/context/version.js')} */ (load('../../dist/program/app/context/version.js'));

const admin = readFileSync(new URL('../../docs/admin-api.md', import.meta.url), 'utf8');
const PAGES = {
  'admin-api.md': renderAdminDoc(admin),
  'settings.md': renderSettingsDoc(),
  'metrics.md': renderMetricsDoc(),
  'configuration.md': renderConfigurationDoc(),
  'weir.schema.json': renderJsonSchema(),
  'openapi.json': renderHttpOpenApi(VERSION),
};
for (const [name, text] of Object.entries(PAGES)) writeFileSync(new URL(`../../docs/${name}`, import.meta.url), text);
writeFileSync(new URL('../../src/administration/admin-client/operations.ts', import.meta.url), renderOperations(ADMIN_ROUTES));

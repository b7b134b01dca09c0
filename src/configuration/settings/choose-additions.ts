/** Chooses what answers get besides their code. */

import type { AdditionOptions } from '../../domain/respond/response-additions';
import type { Settings } from './table/settings';

export function chooseAdditions(settings: Settings): AdditionOptions {
  const { limitLimitHeader: limit, limitRemainingHeader: remaining, limitResetHeader: reset } = settings;
  return {
    responseHeaders: settings.responseHeaders ?? (settings.limitResponseHeadersEnabled ? 'reference' : 'off'),
    headerNames: { limit, remaining, reset },
    headerForms: { limit: settings.limitLimitForm, reset: settings.limitResetForm },
    retryAfter: settings.retryAfterEnabled,
    retryAfterMs: settings.retryAfterMsEnabled,
    responseBody: settings.responseBody,
    requestMetadata: settings.responseDynamicMetadata,
    decisionMetadata: settings.responseDecisionMetadata,
  };
}

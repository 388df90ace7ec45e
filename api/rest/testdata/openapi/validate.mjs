// Prints what two independent validators say of OpenAPI documents: of each its faults, one a line, and "checked".
import { readFileSync } from "node:fs";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { Validator } from "@seriousme/openapi-schema-validator";

const config = await createConfig({
  extends: ["spec"],
  rules: {
    "no-unresolved-refs": "error",
    "no-unused-components": "error",
    "no-ambiguous-paths": "error",
    "no-identical-paths": "error",
    "operation-operationId": "error",
    "operation-operationId-unique": "error",
    "operation-summary": "error",
    "operation-tag-defined": "error",
    "operation-singular-tag": "error",
    "operation-description": "error",
    "operation-2xx-response": "error",
    "operation-4xx-response": "error",
    "operation-parameters-unique": "error",
    "path-parameters-defined": "error",
    "security-defined": "error",
    "no-invalid-media-type-examples": { severity: "error", allowAdditionalProperties: false },
    "no-invalid-schema-examples": "error",
    "no-invalid-parameter-examples": "error",
    "no-enum-type-mismatch": "error",
    "no-required-schema-properties-undefined": "error",
  },
});

for (const file of process.argv.slice(2)) {
  const source = readFileSync(file, "utf8");
  const validator = new Validator();
  const structure = await validator.validate(JSON.parse(source));
  if (!structure.valid) console.log("structure:", JSON.stringify(structure.errors));
  for (const fault of await lintFromString({ source, absoluteRef: file, config })) {
    console.log(`${fault.ruleId}: ${fault.message.replaceAll("\n", " ")} at ${fault.location?.[0]?.pointer ?? ""}`);
  }
  console.log(`checked ${Object.keys(JSON.parse(source).paths).length} paths of OpenAPI ${validator.version}`);
}

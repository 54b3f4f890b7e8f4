//! The handler of the protocol: which methods there are, and what surrounds each of them.

use std::sync::Arc;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, DiscoverResult, ErrorCode as RpcCode, ErrorData,
    GetPromptRequestParams, GetPromptResponse, GetSkillRequestParams, GetSkillResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};

use super::hints::{self, Context};
use super::panic::caught;
use super::result_encoder::ResultEncoder;
use super::services::Services;
use super::stamp::{CONSTANT_MS, Lifetime, identity, is_stateless, stamped};
use super::text::{excerpt, quoted};
use super::tools::ToolSet;
use super::{prompts, resources, skill};
use crate::config::Config;
use crate::contract::{Envelope, ErrorCode, Reply};
use crate::supervisor::Supervisor;

const INSTRUCTIONS: &str = include_str!("instructions.md");

/// The handler of all connections. Cloning shares it.
#[derive(Clone)]
pub struct Server {
    services: Arc<Services>,
    tools: Arc<ToolSet>,
}

impl Server {
    /// A handler over a running supervisor.
    #[must_use]
    pub fn new(config: &Config, supervisor: Supervisor) -> Self {
        let services = Services::new(config, supervisor);
        Self {
            tools: Arc::new(ToolSet::new(&services.settings)),
            services: Arc::new(services),
        }
    }

    /// Runs a handler that answers with anything but a tool result. A panic becomes an error.
    async fn caught<T>(
        &self,
        handler: impl Future<Output = Result<T, ErrorData>>,
    ) -> Result<T, ErrorData> {
        caught(handler).await.unwrap_or_else(|panic| {
            let text = format!("the server failed while handling this request: {panic}");
            Err(ErrorData::internal_error(text, None))
        })
    }

    /// The result of a tool's handler. A panic becomes an error result.
    async fn result(
        &self,
        encoder: &ResultEncoder,
        outcome: Result<Result<CallToolResult, ErrorData>, String>,
    ) -> Result<CallToolResult, ErrorData> {
        let panic = match outcome {
            Ok(outcome) => return outcome,
            Err(panic) => panic,
        };
        let envelope = Envelope::new(
            ErrorCode::McpEngineFailure,
            format!("the server failed while handling this call: {panic:?}"),
        );
        let reply = Reply::from_envelope(&envelope, &self.services.supervisor.tool_version());
        let hint = hints::hint(&reply, Context::default());
        Ok(encoder.error(&reply, hint))
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .enable_completions()
            .enable_skills()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(identity())
            .with_instructions(INSTRUCTIONS)
    }

    async fn discover(
        &self,
        _context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.get_info())
            .with_ttl_ms(CONSTANT_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let list = ListToolsResult::with_all_items(self.tools.definitions());
        Ok(stamped(is_stateless(&context), list, Lifetime::Constant))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.definition(name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let encoder = ResultEncoder::of(&context);
        let call = self.tools.call(&self.services, request, &context);
        let call = Box::pin(caught(call));
        // A cancelled call is dropped wherever it is, which kills its child and frees its place. The
        // service discards its reply.
        let Some(outcome) = context.ct.run_until_cancelled(call).await else {
            return Ok(CallToolResult::error(Vec::new()).into());
        };
        let result = self.result(&encoder, outcome).await?;
        Ok(stamped(is_stateless(&context), result, Lifetime::Once).into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let list = ListResourcesResult::with_all_items(resources::list());
        Ok(stamped(is_stateless(&context), list, Lifetime::Constant))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let list = ListResourceTemplatesResult::with_all_items(resources::templates());
        Ok(stamped(is_stateless(&context), list, Lifetime::Constant))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = self.caught(resources::read(&self.services, &request.uri));
        let Some(read) = context.ct.run_until_cancelled(read).await else {
            return Err(ErrorData::internal_error("cancelled", None));
        };
        let (result, lifetime) = read?;
        Ok(stamped(is_stateless(&context), result, lifetime).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let complete = self.caught(resources::complete(&self.services, &request));
        let result = complete.await?;
        Ok(stamped(is_stateless(&context), result, Lifetime::Once))
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let list = ListPromptsResult::with_all_items(prompts::list());
        Ok(stamped(is_stateless(&context), list, Lifetime::Constant))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let result = prompts::get(&request)?;
        Ok(stamped(is_stateless(&context), result, Lifetime::Once).into())
    }

    async fn list_skills(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        Ok(stamped(
            is_stateless(&context),
            skill::list(),
            Lifetime::Constant,
        ))
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        let missing = || {
            ErrorData::invalid_params(format!("there is no skill {}", quoted(&request.uri)), None)
        };
        let result = skill::get(&request.uri).ok_or_else(missing)?;
        Ok(stamped(is_stateless(&context), result, Lifetime::Constant))
    }

    /// Requests whose parameters the SDK could not read arrive here under their method's name.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        let expected = match method.as_str() {
            "tools/call" => "an object with name (a string) and arguments (an object)",
            "resources/read" => "an object with uri (a string)",
            "completion/complete" => "an object with ref and argument",
            "prompts/get" => "an object with name (a string) and arguments (an object of strings)",
            // The stateless revision has no such method.
            "initialize" if !is_stateless(&context) => {
                "protocolVersion, capabilities and clientInfo"
            }
            _ => {
                let named = excerpt(&method);
                return Err(ErrorData::new(RpcCode::METHOD_NOT_FOUND, named, None));
            }
        };
        Err(ErrorData::invalid_params(
            format!("{method}: malformed params; it accepts {expected}"),
            None,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Overrides;
    use crate::supervisor::EngineChoice;

    #[tokio::test]
    async fn panic_in_a_handler_is_an_error_result_and_the_next_call_runs() {
        let nothing = |_: &str| None;
        let mut config = Config::load(&nothing, std::iter::empty(), &Overrides::default()).unwrap();
        // No engine is started: the handler never gets there.
        config.supervisor.engine = EngineChoice::External;
        config.supervisor.bin = Some("/no/such/engine".into());
        config.supervisor.prewarm = 0;
        let server = Server::new(&config, Supervisor::start(config.supervisor.clone()));

        let broken = caught(async { panic!("out of {}", "luck\u{1b}") }).await;
        let result = server.result(&ResultEncoder::Value, broken).await.unwrap();
        assert_eq!(result.is_error, Some(true));
        let envelope = result.structured_content.unwrap();
        assert_eq!(envelope["error"]["code"], "MCP_ENGINE_FAILURE");
        let message = envelope["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("out of luck") && !message.contains('\u{1b}'),
            "{message}"
        );
        assert_eq!(result.content.len(), 2, "the envelope and a hint");

        let fine = caught(async { Ok(CallToolResult::success(Vec::new())) }).await;
        let result = server.result(&ResultEncoder::Value, fine).await.unwrap();
        assert_eq!(result.is_error, Some(false));
    }
}

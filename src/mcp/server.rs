//! The protocol's handler: which methods there are, and what stands round every one of them.

use std::sync::Arc;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, DiscoverResult, ErrorCode as RpcCode, ErrorData,
    GetPromptRequestParams, GetPromptResponse, GetSkillRequestParams, GetSkillResult,
    Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListSkillsResult, ListToolsResult, MetaObject, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use tokio::sync::Semaphore;

use super::arguments::{excerpt, quoted};
use super::hints::{self, Context};
use super::panic::caught;
use super::result_encoder::ResultEncoder;
use super::{prompts, resources, skill, tools};
use crate::access::Access;
use crate::config::Config;
use crate::contract::{Envelope, ErrorCode, Reply};
use crate::supervisor::Supervisor;

/// How long a client may keep an answer that is constant for one build and engine.
const CONSTANT_MS: u64 = 3_600_000;

const INSTRUCTIONS: &str = include_str!("instructions.md");

/// The handler of all connections. Cloning shares it.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
}

/// What the tools and resources work with.
pub(super) struct Shared {
    pub(super) supervisor: Supervisor,
    pub(super) access: Access,
    pub(super) max_batch: usize,
    /// Largest document inside a call, in bytes; `None` when none may be.
    pub(super) inline_bytes: Option<u64>,
    /// Room for the reports of all batches, in KiB.
    pub(super) batch_room: Semaphore,
    tools: Vec<Tool>,
}

impl Server {
    /// A handler over a running supervisor.
    #[must_use]
    pub fn new(config: &Config, supervisor: Supervisor) -> Self {
        Self {
            shared: Arc::new(Shared {
                supervisor,
                access: Access::new(config.supervisor.roots.clone()),
                max_batch: config.max_batch,
                inline_bytes: config.inline_bytes,
                batch_room: Semaphore::new(tools::BATCH_ROOM_KIB),
                tools: tools::definitions(config),
            }),
        }
    }

    /// Runs a handler that answers with anything but a tool result.
    async fn guarded<T>(
        &self,
        handler: impl Future<Output = Result<T, ErrorData>>,
    ) -> Result<T, ErrorData> {
        caught(handler).await.unwrap_or_else(|panic| {
            let text = format!("the server failed while handling this request: {panic}");
            Err(ErrorData::internal_error(text, None))
        })
    }

    /// The result of a handler; one that panicked is an error like any other.
    async fn settled(
        &self,
        encoder: &ResultEncoder,
        outcome: Result<Result<CallToolResult, ErrorData>, String>,
    ) -> Result<CallToolResult, ErrorData> {
        match outcome {
            Ok(outcome) => outcome,
            Err(panic) => Ok(self.panicked(encoder, &panic).await),
        }
    }

    async fn panicked(&self, encoder: &ResultEncoder, panic: &str) -> CallToolResult {
        let envelope = Envelope::new(
            ErrorCode::McpEngineFailure,
            format!("the server failed while handling this call: {panic:?}"),
        );
        let reply = Reply::from_envelope(&envelope, &self.shared.supervisor.tool_version());
        encoder
            .error(&reply, hints::hint(&reply, Context::default()))
            .await
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
        let mut list = ListToolsResult::with_all_items(self.shared.tools.clone());
        if is_modern(&context) {
            constant(&mut list.ttl_ms, &mut list.cache_scope);
            sign(&mut list.meta);
        }
        Ok(list)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let mut tools = self.shared.tools.iter();
        tools.find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let encoder = ResultEncoder::of(&context);
        let call = Box::pin(caught(tools::call(&self.shared, request, &context)));
        // A cancelled call is dropped where it stands, which kills its child and frees its place. Its
        // reply would be thrown away by the service.
        let Some(outcome) = context.ct.run_until_cancelled(call).await else {
            return Ok(CallToolResult::error(Vec::new()).into());
        };
        let mut result = self.settled(&encoder, outcome).await?;
        if is_modern(&context) {
            sign(&mut result.meta);
        }
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut list = ListResourcesResult::with_all_items(resources::list());
        if is_modern(&context) {
            constant(&mut list.ttl_ms, &mut list.cache_scope);
            sign(&mut list.meta);
        }
        Ok(list)
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut list = ListResourceTemplatesResult::with_all_items(resources::templates());
        if is_modern(&context) {
            constant(&mut list.ttl_ms, &mut list.cache_scope);
            sign(&mut list.meta);
        }
        Ok(list)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = self.guarded(resources::read(&self.shared, &request.uri));
        let Some(read) = context.ct.run_until_cancelled(read).await else {
            return Err(ErrorData::internal_error("cancelled", None));
        };
        let (mut result, is_constant) = read?;
        if is_modern(&context) {
            if is_constant {
                constant(&mut result.ttl_ms, &mut result.cache_scope);
            }
            sign(&mut result.meta);
        }
        Ok(result.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let complete = self.guarded(resources::complete(&self.shared, &request));
        let mut result = complete.await?;
        if is_modern(&context) {
            sign(&mut result.meta);
        }
        Ok(result)
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let mut list = ListPromptsResult::with_all_items(prompts::list());
        if is_modern(&context) {
            constant(&mut list.ttl_ms, &mut list.cache_scope);
            sign(&mut list.meta);
        }
        Ok(list)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let mut result = prompts::get(&request)?;
        if is_modern(&context) {
            sign(&mut result.meta);
        }
        Ok(result.into())
    }

    async fn list_skills(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        let mut list = skill::list();
        if is_modern(&context) {
            constant(&mut list.ttl_ms, &mut list.cache_scope);
            sign(&mut list.meta);
        }
        Ok(list)
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        let missing = || {
            ErrorData::invalid_params(format!("there is no skill {}", quoted(&request.uri)), None)
        };
        let mut result = skill::get(&request.uri).ok_or_else(missing)?;
        if is_modern(&context) {
            constant(&mut result.ttl_ms, &mut result.cache_scope);
            sign(&mut result.meta);
        }
        Ok(result)
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
            "initialize" if !is_modern(&context) => "protocolVersion, capabilities and clientInfo",
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

/// Whether the request speaks the revision that has cache hints and signed results.
fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// Lets clients keep what never changes for one build and engine.
fn constant(ttl_ms: &mut Option<u64>, scope: &mut Option<CacheScope>) {
    *ttl_ms = Some(CONSTANT_MS);
    *scope = Some(CacheScope::Public);
}

/// Puts our name into a result's `_meta`, as the stateless revision asks.
fn sign(meta: &mut Option<MetaObject>) {
    if let Ok(name) = serde_json::to_value(identity()) {
        meta.get_or_insert_default()
            .insert("io.modelcontextprotocol/serverInfo".into(), name);
    }
}

fn identity() -> Implementation {
    Implementation::new("deckprobe", env!("CARGO_PKG_VERSION")).with_title("DeckProbe")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Overrides;
    use crate::supervisor::EngineChoice;

    #[tokio::test]
    async fn a_panic_in_a_handler_is_an_error_result_and_the_next_call_runs() {
        let nothing = |_: &str| None;
        let mut config = Config::load(&nothing, std::iter::empty(), &Overrides::default()).unwrap();
        // No engine is started: the handler never gets there.
        config.supervisor.engine = EngineChoice::External;
        config.supervisor.bin = Some("/no/such/engine".into());
        config.supervisor.prewarm = 0;
        let server = Server::new(&config, Supervisor::start(config.supervisor.clone()));

        let broken = caught(async { panic!("out of {}", "luck\u{1b}") }).await;
        let result = server.settled(&ResultEncoder::Value, broken).await.unwrap();
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
        let result = server.settled(&ResultEncoder::Value, fine).await.unwrap();
        assert_eq!(result.is_error, Some(false));
    }
}
